"""Captures as tables: pcap and pcapng files of any origin, one row a frame, our datagrams read by node/schema/.

`capture` finds the packets in the bytes of a file, `layers` what the air and the network said around them, `datagrams`
our messages; `table` puts them into columns. `source` is the Spark data source `pcap`, `store` what `roamcast ingest`
writes, `walk` what frames alone tell, `agree` where they and the records of a run contradict each other.
"""
