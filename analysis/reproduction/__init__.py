"""The evaluation of cugola-frey-murphy-picco-dynamic-topology, section V, reproduced: figures 12 to 29."""
