"""Trainers that can be used without the paper."""
