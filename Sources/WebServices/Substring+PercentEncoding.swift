internal import Foundation

extension Substring {
    /// The text without its percent-encoding, `nil` when it is malformed or encodes what is not UTF-8.
    var removingPercentEncodingStrictly: String? {
        utf8.contains(UInt8(ascii: "%")) ? removingPercentEncoding : String(self)
    }
}
