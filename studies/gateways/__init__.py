"""The experiments of a thesis on home-gateway traffic."""
