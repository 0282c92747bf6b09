"""What transactions hold back until they are decided: local ones (class tx) and branches of distributed ones (class dtx)."""
