/* All models, in the order of --help. */
#include "tools/nicsim/82599/82599.h"
#include "tools/nicsim/i226/i226.h"
#include "tools/nicsim/mlx5/mlx5.h"
#include "tools/nicsim/model.h"
#include "tools/nicsim/testdev.h"

const struct model_ops *const models[] = {&intel_82599_ops, &intel_x550_ops, &intel_i226_ops, &connectx5_ops,
                                          &testdev_ops};
const unsigned model_count = sizeof models / sizeof models[0];
