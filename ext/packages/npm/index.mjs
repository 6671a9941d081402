// SPDX-License-Identifier: MIT
import cuckoo from './index.js';

export const { getLoadablePath, load } = cuckoo;
export default cuckoo;
