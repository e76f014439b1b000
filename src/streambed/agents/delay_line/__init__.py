"""The delay line: one process that holds packets back, loses, mangles or doubles some, and lets
the others go when they are due.

    python -I -S delay_line/ queues.json

Packets stay in the kernel (NFQUEUE); only their ids come up, and verdicts go down. It needs the
standard library alone.

Its file says {"gauge": path, "seed": number, "queues": [queue, …]}, and each queue is one direction
of a link:

    number, namespace                 the queue, and the network that it is in (an inherited descriptor)
    sender_namespace, sender_index    the port that its packets leave by: copies are sent from there
    delay_ns, jitter_ns, table        table: deviations in units of jitter/8192, drawn evenly; empty: even over ± jitter
    in_order                          no packet is due before the one that came before it
    loss                              a share, lost one by one
    enter, leave, bad, good           loss in bursts, if enter > 0: the chances to go to the bad state and back, and to be lost in each
    reorder, duplicate, corrupt       shares: sent at once, sent twice, sent with one bit turned over

It writes "ready …" once, and how it is scheduled; takes lines with the keys of a queue, writes
"done" when that holds, and ends with its input. Each second the gauge gets {"packets", "dropped"}
so far, and {"late_mean_ns", "late_max_ns", "late_packets"} of that second; the last three of these
are there, so that none is missed by whoever looks each second.
"""
