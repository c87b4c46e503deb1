"""Mutants: small changes of a reward, and whether its cases notice them."""
