"""What pytest does otherwise on a mutant: examples are the same always, and one that fails is not made smaller."""
from hypothesis import HealthCheck, Phase, settings

settings.register_profile("mutants", phases=[Phase.explicit, Phase.generate], database=None, derandomize=True, deadline=None,
                          suppress_health_check=list(HealthCheck))
settings.load_profile("mutants")
