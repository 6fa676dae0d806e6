#include "wire/handover.h"
