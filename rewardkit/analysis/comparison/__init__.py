"""What two scored tables say of the same rollouts: rows, figures, definitions, and what each selects for."""
