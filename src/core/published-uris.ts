/**
 * Addresses that are published with a token and that strangers' programs will open: which ones are taken. Nothing that a
 * browser would run (`javascript:`, `data:text/html`), nothing that carries credentials, nothing without an end.
 */

/** Of an http, https or ipfs address. */
export const MAX_ADDRESS_LENGTH = 2_048
/** Of a data URI, in characters, which are all bytes: 128 KiB. */
export const MAX_DATA_URI_LENGTH = 128 * 1_024

/** No spaces and control characters, nor what RFC 3986 wants escaped because it ends an address in other texts. */
const HTTP = /^https?:\/\/[^\s\p{Cc}\p{Cf}"<>\\^`{|}]+$/iu
/** A root, which is a CID or a name, and the path below it. */
const IPFS = /^ipfs:\/\/[a-z0-9._-]+(?:[/?#][^\s\p{Cc}\p{Cf}"<>\\^`{|}]*)?$/iu
/** RFC 2397, and the parameter without a value (`;utf8`) that many programs write. */
const DATA_IMAGE = /^data:image\/[a-z0-9][a-z0-9.+-]{0,63}(?:;[a-z0-9-]+(?:=[a-z0-9._-]+)?)*,/i
/** Printable ASCII: programs that write SVG into a data URI often leave spaces and brackets as they are. */
const DATA = /^[\x20-\x7e]+$/
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** An http or https address that can be parsed, without user name and password. */
export function isWebAddress(text: string): boolean {
  if (text.length > MAX_ADDRESS_LENGTH || !HTTP.test(text) || !URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === ''
}

/** What may stand as the image of a token: a web address, an ipfs address, or an image as a data URI. */
export function isImageUri(text: string): boolean {
  if (/^data:/i.test(text)) return isDataImage(text)
  if (/^ipfs:/i.test(text)) return text.length <= MAX_ADDRESS_LENGTH && IPFS.test(text)
  return isWebAddress(text)
}

function isDataImage(text: string): boolean {
  if (text.length > MAX_DATA_URI_LENGTH) return false
  const head = DATA_IMAGE.exec(text)?.[0]
  if (head === undefined) return false
  const data = text.slice(head.length)
  return head.toLowerCase().endsWith(';base64,') ? BASE64.test(data) && data.length % 4 === 0 : DATA.test(data)
}
