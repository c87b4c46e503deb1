"""Make mutants, small changes of a reward, and test whether its cases notice them."""
