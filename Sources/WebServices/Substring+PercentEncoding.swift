internal import Foundation

extension Substring {
    /// The percent-decoded text; `nil` if the encoding is malformed or does not decode to UTF-8.
    var removingPercentEncodingStrictly: String? {
        utf8.contains(UInt8(ascii: "%")) ? removingPercentEncoding : String(self)
    }
}
