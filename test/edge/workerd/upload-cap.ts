/** The cap of streamed bodies in the worker under test, and how long a delivery's body may take to come there. */
export const uploadBytesOnWorkerd = 20_971_520;
export const deliveryBodyMsOnWorkerd = 3_000;
