// What a plug-in was built with: part of every one that quench_add_plugin() makes.
#include "quench/plugin_tag.h"

QUENCH_PLUGIN()
