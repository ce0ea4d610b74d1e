"""Token Reversal: a sequence environment, a Transformer, and its training."""
