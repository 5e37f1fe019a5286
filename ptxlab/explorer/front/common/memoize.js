// What is computed once for each object that Python sent, and kept as long as that is.

/**
 * @template {object} Key
 * @template Value
 * @template {unknown[]} More
 * @param {(key: Key, ...more: More) => Value} compute which may use more than the key, but depends on that alone
 * @returns {(key: Key, ...more: More) => Value}
 */
export function memoize(compute) {
  /** @type {WeakMap<Key, Value>} */
  const known = new WeakMap();
  return (key, ...more) => {
    const value = known.get(key) ?? compute(key, ...more);
    known.set(key, value);
    return value;
  };
}
