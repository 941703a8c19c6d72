public import JSON

extension Name {
    /// True if the name has the form of a user record name: `_` and 32 lowercase hexadecimal digits.
    public var isUserRecordName: Bool {
        utf8.count == 33 && utf8.first == UInt8(ascii: "_")
            && utf8.dropFirst().allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
                default: false
                }
            }
    }
}
