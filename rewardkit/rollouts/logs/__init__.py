"""The logs that trainers and evaluations write, one module a form."""
