import { getLoadablePath, load } from './index.js';

export * from './index.js';
declare const cuckoo: { getLoadablePath: typeof getLoadablePath; load: typeof load };
export default cuckoo;
