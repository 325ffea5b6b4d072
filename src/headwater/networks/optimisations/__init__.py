"""Optimisations of networks (loo-2006 section 5), each switched by a setting, with the same results as without."""
