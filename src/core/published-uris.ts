/**
 * Rules for URIs that are published with a token and opened by other programs. Refused are active content
 * (`javascript:`, `data:text/html`), credentials and unlimited length.
 */

/** Maximum length of an http, https or ipfs URI, in characters. */
export const MAX_ADDRESS_LENGTH = 2_048
/** Maximum length of a data URI: 128 KiB in ASCII characters. */
export const MAX_DATA_URI_LENGTH = 128 * 1_024

/**
 * No spaces, no control characters, and none of the characters that RFC 3986 requires to be escaped because they
 * delimit URIs.
 */
const HTTP = /^https?:\/\/[^\s\p{Cc}\p{Cf}"<>\\^`{|}]+$/iu
/** A root (a CID or a name) and a path below it. */
const IPFS = /^ipfs:\/\/[a-z0-9._-]+(?:[/?#][^\s\p{Cc}\p{Cf}"<>\\^`{|}]*)?$/iu
/** RFC 2397, including the parameter without a value (`;utf8`) that many programs write. */
const DATA_IMAGE = /^data:image\/[a-z0-9][a-z0-9.+-]{0,63}(?:;[a-z0-9-]+(?:=[a-z0-9._-]+)?)*,/i
/** Printable ASCII: programs that put SVG into a data URI often leave spaces and brackets unescaped. */
const DATA = /^[\x20-\x7e]+$/
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** An http or https URL that parses, without user name and password. */
export function isWebAddress(text: string): boolean {
  if (text.length > MAX_ADDRESS_LENGTH || !HTTP.test(text) || !URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === ''
}

/** A URI allowed as the image of a token: an http(s) URL, an ipfs URI, or an image as a data URI. */
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
