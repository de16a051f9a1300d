// Cuts bytes that arrive in pieces into lines. Pure.

export function lineReader() {
  const decoder = new TextDecoder();
  let rest = "";
  return {
    /** @param {Uint8Array} bytes @returns {string[]} */
    more(bytes) {
      const parts = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = parts.pop() ?? "";
      return parts.filter((line) => line.trim() !== "");
    },
    /** What is left at the end. @returns {string[]} */
    end() {
      const last = rest + decoder.decode();
      rest = "";
      return last.trim() === "" ? [] : [last];
    },
  };
}
