"""Routing strategies: how subscriptions spread over the tree and events follow them back."""
