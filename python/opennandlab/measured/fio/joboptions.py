"""Every option of fio, and its meaning on a simulated drive in virtual time.

| table | an option of it |
|---|---|
| `RUN` | is carried out: its reader; `plan` makes a request source of it |
| `NEAR` | is approximated: its plain values, and how |
| `SAID` | has no meaning here: it is listed once |
| `NO` | is refused, but for its plain values: why |

Source: `options.c` and the engines of fio 3.42.
"""

from __future__ import annotations

from collections.abc import Mapping

from opennandlab.base.hints import nearest
from opennandlab.measured.fio import jobvalues as of
from opennandlab.measured.fio.jobtext import Given
from opennandlab.measured.fio.plain import ENGINES

COUNT = of.within(of.number, 1, 1 << 32)
ANY = of.number
MS = of.within(of.number, 0, 1 << 32)
PERCENT = of.within(of.number, 0, 100)
SECONDS, MICROSECONDS = of.time(1.0), of.time(1e-6)
HINTS = {"none": 0, "short": 1, "medium": 2, "long": 3, "extreme": 4}

RUN: dict[str, of.Parse] = {
    "description": of.text, "name": of.text, "filename": of.text, "wait_for": of.text,
    "rw": of.mode, "rw_sequencer": of.word("sequential", "identical"),
    "rwmixread": PERCENT, "rwmixwrite": PERCENT,
    "bs": of.directions(ANY), "ba": of.directions(ANY), "bsrange": of.directions(of.span),
    "bssplit": of.directions(of.split), "bs_is_seq_rand": of.flag,
    "ioengine": of.text, "iodepth": of.within(of.number, 1, 65536),
    "numjobs": of.within(of.number, 1, 4096),
    "size": of.size, "filesize": of.span, "io_size": of.size,
    "offset": of.size, "offset_increment": of.size,
    "offset_align": ANY, "number_ios": ANY, "loops": COUNT,
    "time_based": of.flag, "runtime": SECONDS, "ramp_time": SECONDS, "startdelay": SECONDS,
    "norandommap": of.flag, "random_distribution": of.places,
    "percentage_random": of.directions(PERCENT), "randrepeat": of.flag, "randseed": ANY,
    "zonemode": of.word("none", "strided", "zbd"), "zonesize": ANY, "zonerange": ANY,
    "zoneskip": ANY,
    "rate": of.directions(ANY), "rate_iops": of.directions(ANY),
    "rate_process": of.word("linear", "poisson"), "rate_ignore_thinktime": of.flag,
    "thinktime": MICROSECONDS, "thinktime_blocks": COUNT,
    "thinktime_blocks_type": of.word("complete", "issue"), "thinktime_iotime": SECONDS,
    "fsync": ANY, "fdatasync": ANY, "end_fsync": of.flag, "fsync_on_close": of.flag,
    "sync": of.word("none", "0", "sync", "1", "dsync"), "writefua": of.flag,
    "write_hint": of.word(*HINTS), "fdp": of.flag,
    "dataplacement": of.word("none", "fdp", "streams"), "plids": of.ids,
    "plid_select": of.word("random", "roundrobin", "scheme"), "dp_scheme": of.text,
    "steadystate": of.criterion, "steadystate_duration": SECONDS,
    "steadystate_ramp_time": SECONDS, "steadystate_check_interval": SECONDS,
    "stonewall": of.flag, "new_group": of.flag, "exitall": of.flag,
    "exit_what": of.word("group", "stonewall", "all"), "group_reporting": of.flag,
    "percentile_list": of.floats, "clat_percentiles": of.flag, "lat_percentiles": of.flag,
    "slat_percentiles": of.flag,
    "unified_rw_reporting": of.word("none", "mixed", "both", "0", "1", "2"),
    "write_bw_log": of.text, "write_iops_log": of.text, "write_lat_log": of.text,
    "write_hist_log": of.text, "log_avg_msec": MS, "log_hist_msec": MS,
    "log_hist_coarseness": of.within(of.number, 0, 6), "log_offset": of.flag,
    "log_window_value": of.word("avg", "max", "both", "0", "1"), "per_job_logs": of.flag,
    "bwavgtime": of.within(of.number, 1, 1 << 32), "iopsavgtime": of.within(of.number, 1, 1 << 32),
}  # fmt: skip
# Options that may be given by their name alone, and their value then.
ALONE: dict[str, object] = dict.fromkeys(
    (name for name, parse in RUN.items() if parse is of.flag), True
) | dict.fromkeys(("write_bw_log", "write_iops_log", "write_lat_log", "write_hist_log"), "")
ALIASES = {
    "readwrite": "rw", "blocksize": "bs", "blockalign": "ba", "blocksize_range": "bsrange",
    "blocksize_unaligned": "bs_unaligned", "io_limit": "io_size", "fileoffset": "offset",
    "timeout": "runtime", "allrandrepeat": "randrepeat", "wait_for_previous": "stonewall",
    "ss": "steadystate", "ss_dur": "steadystate_duration", "ss_ramp": "steadystate_ramp_time",
    "ss_interval": "steadystate_check_interval", "data_placement": "dataplacement",
    "fdp_pli": "plids", "fdp_pli_select": "plid_select", "ratemin": "rate_min",
    "ratecycle": "rate_cycle", "iodepth_batch_submit": "iodepth_batch",
    "iodepth_batch_complete": "iodepth_batch_complete_min", "nr_files": "nrfiles",
    "log_max_value": "log_window_value", "log_unix_epoch": "log_alternate_epoch",
    "disable_bw": "disable_bw_measurement", "fill_fs": "fill_device", "iomem": "mem",
    "mem_align": "iomem_align", "threads": "thread",
}  # fmt: skip


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


OFF = frozenset({"0", "none", "false"})
ONE = frozenset({"0", "1"})
BATCH = "requests are issued one by one, as soon as the depth allows"
VERIFY = "contents are not kept: nothing is checked, and the reads of the check are not run"
RANGE = "the job has one range, from its offset on"
NEAR: dict[str, tuple[frozenset[str], str]] = {
    "iodepth_batch": (ONE, BATCH), "iodepth_batch_complete_min": (ONE, BATCH),
    "iodepth_batch_complete_max": (ONE, BATCH), "iodepth_low": (OFF, BATCH),
    "bs_unaligned": (OFF, "sizes are multiples of the smallest one"),
    "nrfiles": (ONE, RANGE), "openfiles": (ONE, RANGE),
    "file_append": (OFF, RANGE), "file_service_type": (frozenset(), RANGE),
    "random_generator": (frozenset({"tausworthe", "tausworthe64"}),
                         "another order; each block still comes once"),
    "softrandommap": (OFF, "the map is always there"),
    "thinktime_spin": (OFF, "the whole thinktime passes without work of a processor"),
    "rate_min": (OFF, "a rate that is too low does not end the job"),
    "rate_iops_min": (OFF, "a rate that is too low does not end the job"),
    "sync_file_range": (OFF, "no flush: it writes pages of the page cache"),
    "write_barrier": (OFF, "no flush: engines have no such request"),
    "end_syncfs": (OFF, "no flush: there is no file system"),
    "verify": (OFF, VERIFY),
    "verify_only": (OFF, VERIFY), "trim_percentage": (OFF, VERIFY), "trim_backlog": (OFF, VERIFY),
    "fill_device": (OFF, "the job ends at its size"),
    "fallocate": (frozenset({"none", "0"}), "no file is made: the drive is as --state says"),
    "pre_read": (OFF, "nothing is read before: there is no page cache"),
    "serialize_overlap": (OFF, "requests that overlap are in flight together"),
    "io_submit_mode": (frozenset({"inline"}), "requests are issued by the job itself"),
    "max_latency": (OFF, "a longer response time does not end the job"),
    "log_compression": (OFF, "logs are not compressed"),
    "log_store_compressed": (OFF, "logs are not compressed"),
    "log_issue_time": (OFF, "logs have no issue times"),
    "log_prio": (OFF, "the priority in logs is 0"),
    "log_alternate_epoch": (OFF, "times in logs begin at 0"),
}  # fmt: skip

LATENCY = "the depth of a job is not searched; give it by iodepth"
FLOW = "jobs do not hold each other back"
TRACE = "a trace is not a job; accepted: `opennandlab replay FILE`"
ZBD = "zones are not written by jobs; accepted: a workload with pattern log_zones"
NO: dict[str, tuple[frozenset[str], str]] = {
    "latency_target": (OFF, LATENCY), "latency_run": (OFF, LATENCY), "flow": (OFF, FLOW),
    "read_iolog": (frozenset(), TRACE), "merge_blktrace_file": (frozenset(), TRACE),
    "sprandom": (OFF, "its order is not known here; accepted: norandommap"),
    "num_range": (ONE, "a trim has one range"),
    "kb_base": (frozenset({"1024"}), "sizes have units of 1024; accepted: 4k, 1m"),
    "profile": (frozenset(), "profiles are programs of fio"),
    "write_zone_remainder": (OFF, ZBD), "max_open_zones": (OFF, ZBD),
    "job_max_open_zones": (OFF, ZBD), "zonecapacity": (OFF, ZBD), "read_beyond_wp": (OFF, ZBD),
    "zone_reset_threshold": (OFF, ZBD), "zone_reset_frequency": (OFF, ZBD),
    "ramp_size": (OFF, "a ramp is a time; accepted: ramp_time"),
    "write_mode": (frozenset({"write"}), "these are other commands than writes"),
    "sg_write_mode": (frozenset({"write"}), "these are other commands than writes"),
}  # fmt: skip

# Options without meaning here or approximated, by what fio takes as their value; those of neither
# table may be any text.
FLAGS: frozenset[str] = _names(
    """
    allow_file_create allow_mounted_write atomic block_error_percentiles bs_unaligned
    buffered busy_poll cgroup_nodelete create_fsync create_on_open create_only
    create_serialize deac dedupe_global direct disable_bw_measurement disable_clat
    disable_lat disable_slat disk_util do_verify end_syncfs error_dump exitall_on_error
    experimental_verify file_append fill_device fixedbufs gtod_reduce hipri
    ignore_zone_limits invalidate libaio_vectored libblkio_force_enable_completion_eventfd
    libblkio_vectored libblkio_write_zeroes_on_trim log_alternate_epoch log_issue_time
    log_prio log_store_compressed no_completion_thread nowait overwrite pi_act pre_read
    random_sequence_stride read_iolog_chunked readfua recover_zbd_write_error refill_buffers
    registerfiles replay_no_stall scramble_buffers serialize_overlap softrandommap
    sqthread_poll stats thread trim_verify_zero unique_filename unlink unlink_each_loop
    userspace_reap verify_dump verify_fatal verify_header_seed verify_only verify_state_load
    verify_state_save verify_write_sequence xnvme_iovec zero_buffers
    """
)
NUMBERS: frozenset[str] = _names(
    """
    apptag apptag_mask buffer_compress_chunk buffer_compress_percentage cgroup_weight
    cpumask dedupe_percentage dedupe_working_set_percentage flow_id flow_sleep force_async
    gid gpu_dev_id gtod_cpu hipri_percentage hugepage-size iodepth_batch
    iodepth_batch_complete_max iodepth_batch_complete_min iodepth_low iomem_align
    job_start_clock_id libblkio_num_entries libblkio_queue_size lockmem
    log_alternate_epoch_clock_id log_compression log_entries max_latency md_per_io_size nice
    nonvectored nrfiles openfiles prio prioclass priohint rate_cycle rate_iops_min rate_min
    replay_align replay_scale replay_time_scale significant_figures spr_cs spr_num_regions
    sqthread_poll_cpu stream_id thinkcycles thinktime_spin thp trim_backlog
    trim_backlog_batch trim_percentage uid uncached verify_async verify_backlog
    verify_backlog_batch verify_interval verify_offset verify_pattern_interval write_barrier
    xnvme_dev_nsid
    """
)
SAID: frozenset[str] = (FLAGS | NUMBERS).difference(NEAR) | _names(
    """
    buffer_pattern cdb_len cgroup clat_percentile_list clientname clocksource clustername
    cmd_type cmdprio cmdprio_bssplit cmdprio_class cmdprio_hint cmdprio_percentage comm
    continue_on_error cpus_allowed cpus_allowed_policy dedupe_mode directory exec_postrun
    exec_prerun fadvise_hint filename_format filetype flow_watermark ignore_error
    ioscheduler latency_percentile latency_window libblkio_driver libblkio_path
    libblkio_pre_connect_props libblkio_pre_start_props libblkio_wait_mode lockfile
    log_compression_cpus mem merge_blktrace_iters merge_blktrace_scalars numa_cpu_nodes
    numa_mem_policy opendir percentage_sequential pi_chk pool rbdname read_mode
    replay_redirect replay_skip rwmixcycle spdk_conf spdk_json_conf spdk_mem spr_op
    unit_base verify_async_cpus verify_bytchk verify_mode verify_pattern verify_policy
    verifysort verifysort_nr write_iolog xnvme_admin xnvme_async xnvme_be xnvme_dev_subnqn
    xnvme_mem xnvme_sync
    """
)
# Options of engines whose requests are none of a drive.
FOREIGN: frozenset[str] = _names(
    """
    arguments bindname brick chunck_size chunk_size conf cont cpuchunks cpuload cpumode
    cuda_io donorname exit_on_io_done gpu_dev_ids grace_time hdfs_use_direct hdfsdirectory
    hostname http_host http_mode http_object_mode http_pass http_s3_key http_s3_keyid
    http_s3_region http_s3_security_token http_s3_sse_customer_algorithm
    http_s3_sse_customer_key http_s3_storage_class http_swift_auth_token http_user
    http_verbose https ime_psync ime_psyncv initiator inplace interface listen mss namenode
    nfs_url nodelay object_class pingpong port program proto protocol rocm_io single_instance
    skip_bad stat_type std_redirect svcl touch_objects ttl uri verb volume window_size
    """
)
KNOWN = sorted({*FOREIGN, *RUN, *ALIASES, *NEAR, *NO, *SAID})

# Engines with one request at a time, and those with a queue.
ONE_AT_A_TIME = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"})
QUEUED = _names(
    "libaio io_uring io_uring_cmd posixaio windowsaio solarisaio sg xnvme libblkio nvme rbd nbd "
    "spdk spdk_bdev"
)
ENGINE_DEFAULT = "psync"


def known(given: Given) -> str:
    """Return the name of an option without its other spellings.

    Raises:
        ConfigError: for one that fio does not have.
    """
    name = ALIASES.get(given.name, given.name)
    if name in RUN or name in NEAR or name in NO or name in SAID:
        return name
    if name in FOREIGN:
        raise given.refusal("of an engine whose requests are none of a drive")
    near = nearest(given.name, KNOWN)
    hint = f"did you mean `{near}`?" if near else "accepted: the options of fio 3.42"
    raise given.refusal(f"no option of fio; {hint}")


def value(name: str, given: Given) -> object:
    """Return what an option of `RUN` means.

    Raises:
        ConfigError: for a value that fio would not take.
    """
    if given.text is None or (given.text == "" and name in ALONE):
        if name in ALONE:
            return ALONE[name]
        raise given.refusal("no value; accepted: one behind `=`")
    return _meaning(RUN[name], given.text, given)


def _meaning(parse: of.Parse, text: str, given: Given) -> object:
    try:
        return parse(text)
    except ValueError as error:
        raise given.refusal(f"accepted: {error}") from error


def plain(table: Mapping[str, tuple[frozenset[str], str]], name: str, given: Given) -> str:
    """Return why an option is approximated or refused; empty where its value changes nothing."""
    values, reason = table[name]
    return "" if (given.text if given.text is not None else "1") in values else reason


def check(name: str, given: Given) -> None:
    """Check the value of an option that has no meaning here.

    Raises:
        ConfigError: for a flag or a number that fio would not take.
    """
    parse = of.flag if name in FLAGS else of.directions(of.signed) if name in NUMBERS else of.text
    if given.text is not None:
        _meaning(parse, given.text, given)


def engine(given: Given) -> str:
    """Return an engine.

    Raises:
        ConfigError: for one that drives no drive, or that fio does not have.
    """
    name = (given.text or "").split(":")[0]
    if name in ONE_AT_A_TIME | QUEUED | {"external", "libzbc"}:
        return name
    if name in ENGINES:
        raise given.refusal(f"{ENGINES[name]}; accepted: an engine such as libaio or psync")
    near = nearest(name, sorted(ONE_AT_A_TIME | QUEUED))
    hint = f"did you mean `{near}`?" if near else "accepted: an engine such as libaio or psync"
    raise given.refusal(hint)
