"""Learning vector quantisation of SPD matrices and of vectors."""
