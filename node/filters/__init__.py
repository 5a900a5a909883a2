"""The filter language, matching, covering and merging of filters."""
from node.filters.covering import covers, merge, never
from node.filters.index import Index
from node.filters.language import (
    Attributes,
    Constraint,
    Filter,
    FilterError,
    Value,
    attributes_as_record,
    check_attributes,
)
from node.filters.parser import parse

__all__ = ["Attributes", "Constraint", "Filter", "FilterError", "Index", "Value", "attributes_as_record",
           "check_attributes", "covers", "merge", "never", "parse"]
