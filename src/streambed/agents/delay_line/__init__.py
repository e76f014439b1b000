"""The delay line: one process that delays packets and drops, corrupts or duplicates some.

    python -I -S delay_line/ queues.json

Packets stay in the kernel (NFQUEUE); only their ids come up, and verdicts go down. It needs only
the standard library.

Its file is {"gauge": path, "seed": number, "queues": [queue, …]}; each queue is one direction of a
link:

    number, namespace               the queue, and its network (an inherited descriptor)
    sender_namespace, sender_index  the port that its packets leave by; copies are sent from there
    delay_ns, jitter_ns, table      table: deviations in units of jitter/8192, drawn evenly;
                                    empty: uniform over ± jitter
    in_order                        no packet is due before an earlier one
    loss                            share of packets dropped independently
    enter, leave, bad, good         loss in bursts, if enter > 0: the probabilities to enter and
                                    leave the bad state, and of loss in each state
    reorder, duplicate, corrupt     shares: sent at once, sent twice, sent with one bit flipped
    held                            every packet is kept until this is false again

It writes "ready …" once, with its scheduling class. It reads lines with the keys of a queue, writes
"done" when the change is in effect, and ends with its input. Each second the gauge gets {"packets",
"dropped"} so far, and {"late_mean_ns", "late_max_ns", "late_packets"} of that second. The file
holds the last three, so that a once-a-second reader misses none.
"""
