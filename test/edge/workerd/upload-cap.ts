/** The cap of streamed bodies in the worker under test. */
export const uploadBytesOnWorkerd = 20_971_520;
