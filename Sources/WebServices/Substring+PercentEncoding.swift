internal import Foundation

extension Substring {
    /// The text without its percent-encoding, `nil` when it is malformed or encodes what is not UTF-8.
    var removingPercentEncodingStrictly: String? {
        contains("%") ? removingPercentEncoding : String(self)
    }
}
