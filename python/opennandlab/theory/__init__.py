"""What must come out: closed forms and small exact models of flash drives, without simulating any.

    uniform, hot_cold, mean_field, trim, waf    write amplification; `predict_waf` picks the formula
    mapping, caching                            merges of block maps, hit rate of a cached map
    tutorial                                    three worked examples, page by page
    wear, endurance, reliability                erase counts, life, bit errors
    coding                                      capacity, and the best code of a length
    queueing, closed_loop, bandwidth            time: Poisson reads, fixed queue depth, saturation
    zones                                       time of a host that writes open zones in turn
    scaling                                     five mixes in one figure, units added, block sizes
    power                                       watts and joules of reads, writes and collections
    background                                  refresh, patrol reads, iterations of a decoder

Each function checks its arguments and names its source; none knows the simulator. Numbers are
floats of Python and numpy, the same on every machine to about twelve digits.
"""

from opennandlab.theory.background import (
    LayeredMinSum,
    patrol_reads_per_s,
    patrol_wait_us,
    refresh_pages_per_s,
    refresh_share,
)
from opennandlab.theory.bandwidth import (
    LINK_MB_S,
    MIXES,
    TUTORIAL_DIES,
    TUTORIAL_VARIANTS,
    DieCountRow,
    FlashChannel,
    TutorialDie,
    die_count_sweep,
    link_cap_mb_s,
    serial_read_ns,
    striped_program_ns,
    striped_read_ns,
)
from opennandlab.theory.caching import che_hit_rate, che_hit_rate_zipf, zipf_popularity
from opennandlab.theory.closed_loop import (
    SharedChannel,
    busy_dies,
    exponential_busy_dies,
    partition_count,
)
from opennandlab.theory.coding import (
    binary_entropy,
    gaussian_information,
    information_density,
    normal_approximation,
)
from opennandlab.theory.endurance import (
    DRIVE_CLASSES,
    DriveClass,
    drive_writes_per_day,
    lifetime_days,
    meets_class,
    tbw_bytes,
)
from opennandlab.theory.energy import DriveEnergy
from opennandlab.theory.hot_cold import (
    PoolSplit,
    fifo_classes,
    fifo_zipf,
    spare_factor_with_static,
    two_pools,
)
from opennandlab.theory.mapping import waf_bast, waf_block_mapping, waf_fast
from opennandlab.theory.mean_field import d_choices_hot_cold
from opennandlab.theory.queueing import DeterministicQueue, independent_dies, little_error
from opennandlab.theory.reliability import (
    PageCode,
    WeibullRber,
    codeword_failure,
    corrected_bits_mean,
    log_codeword_failure,
    page_failure,
    rber_for_failure,
    uber,
)
from opennandlab.theory.scaling import (
    BLOCK_SIZES,
    block_size_iops,
    block_size_mb_s,
    mixed_efficiency,
    mixed_rate,
    normalised_rms,
    rms,
    rms_per_watt,
    scaling_efficiency,
)
from opennandlab.theory.trim import mapped_share, spare_factor_with_trim
from opennandlab.theory.tutorial import (
    TutorialExample,
    TutorialPage,
    TutorialStep,
    waf_of_victims,
    worked_example,
    worked_examples,
)
from opennandlab.theory.uniform import (
    d_choices,
    fifo,
    greedy,
    greedy_level,
    lambert_w0,
    missing_shares,
    random_victim,
)
from opennandlab.theory.waf import (
    POLICIES,
    Traffic,
    op_ratio_from_spare_factor,
    predict_waf,
    spare_factor_effective,
    uniform_formula,
)
from opennandlab.theory.wear import (
    mean_erases,
    static_share_stddev,
    variance_to_mean_greedy,
    variance_to_mean_random,
)
from opennandlab.theory.zones import ZoneDies, lockstep_ns

__all__ = [
    "BLOCK_SIZES",
    "DRIVE_CLASSES",
    "LINK_MB_S",
    "MIXES",
    "POLICIES",
    "TUTORIAL_DIES",
    "TUTORIAL_VARIANTS",
    "DeterministicQueue",
    "DieCountRow",
    "DriveClass",
    "DriveEnergy",
    "FlashChannel",
    "LayeredMinSum",
    "PageCode",
    "PoolSplit",
    "SharedChannel",
    "Traffic",
    "TutorialDie",
    "TutorialExample",
    "TutorialPage",
    "TutorialStep",
    "WeibullRber",
    "ZoneDies",
    "binary_entropy",
    "block_size_iops",
    "block_size_mb_s",
    "busy_dies",
    "che_hit_rate",
    "che_hit_rate_zipf",
    "codeword_failure",
    "corrected_bits_mean",
    "d_choices",
    "d_choices_hot_cold",
    "die_count_sweep",
    "drive_writes_per_day",
    "exponential_busy_dies",
    "fifo",
    "fifo_classes",
    "fifo_zipf",
    "gaussian_information",
    "greedy",
    "greedy_level",
    "independent_dies",
    "information_density",
    "lambert_w0",
    "lifetime_days",
    "link_cap_mb_s",
    "little_error",
    "lockstep_ns",
    "log_codeword_failure",
    "mapped_share",
    "mean_erases",
    "meets_class",
    "missing_shares",
    "mixed_efficiency",
    "mixed_rate",
    "normal_approximation",
    "normalised_rms",
    "op_ratio_from_spare_factor",
    "page_failure",
    "partition_count",
    "patrol_reads_per_s",
    "patrol_wait_us",
    "predict_waf",
    "random_victim",
    "rber_for_failure",
    "refresh_pages_per_s",
    "refresh_share",
    "rms",
    "rms_per_watt",
    "scaling_efficiency",
    "serial_read_ns",
    "spare_factor_effective",
    "spare_factor_with_static",
    "spare_factor_with_trim",
    "static_share_stddev",
    "striped_program_ns",
    "striped_read_ns",
    "tbw_bytes",
    "two_pools",
    "uber",
    "uniform_formula",
    "variance_to_mean_greedy",
    "variance_to_mean_random",
    "waf_bast",
    "waf_block_mapping",
    "waf_fast",
    "waf_of_victims",
    "worked_example",
    "worked_examples",
    "zipf_popularity",
]
