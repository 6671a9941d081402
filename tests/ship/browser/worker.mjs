// SPDX-License-Identifier: MIT
import { open } from './filter.mjs';

onmessage = ({ data: { bytes, key } }) => {
  const filter = open(bytes);
  postMessage([filter.contains(key), filter.contains('surely.not.there.at.all')]);
};
