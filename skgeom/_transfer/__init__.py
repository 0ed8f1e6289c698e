"""Re-centering of SPD matrices by domain, and classification of new domains."""
