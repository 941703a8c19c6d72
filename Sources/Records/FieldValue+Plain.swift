internal import Foundation

extension FieldValue {
    /// Decodes a string without escapes, a number or a timestamp from exactly the text that is stored for it, such as
    /// `{"value":5,"type":"INT64"}`. Most stored values are of this kind, and queries compare many.
    /// - Returns: `nil` for anything else, which the general parser decodes or refuses.
    init?(plain text: ArraySlice<UInt8>) {
        let value = text.withUnsafeBytes { text -> FieldValue? in
            let head = Self.head.utf8CodeUnitCount
            guard text.count > head, Self.head.stands(at: 0, in: text) else { return nil }
            var end = head
            if text[head] == UInt8(ascii: "\"") {
                end += 1
                while end < text.count, text[end] != UInt8(ascii: "\""), text[end] != UInt8(ascii: "\\"), text[end] >= 0x20 { end += 1 }
                guard Self.stringTail.ends(text, at: end) else { return nil }
                return String(validating: UnsafeRawBufferPointer(rebasing: text[(head + 1)..<end]), as: UTF8.self).map { .string($0) }
            }
            while end < text.count, text[end] != UInt8(ascii: ",") { end += 1 }
            let number = text[head..<end]
            if Self.int64Tail.ends(text, at: end) { return Self.integer(number).map { .int64($0) } }
            if Self.timestampTail.ends(text, at: end) { return Self.integer(number).map { .timestamp(Timestamp(milliseconds: $0)) } }
            return nil
        }
        guard let value else { return nil }
        self = value
    }

    private static let head: StaticString = #"{"value":"#
    private static let stringTail: StaticString = #"","type":"STRING"}"#
    private static let int64Tail: StaticString = #","type":"INT64"}"#
    private static let timestampTail: StaticString = #","type":"TIMESTAMP"}"#

    /// - Returns: `nil` unless the text is an integer of at most 18 digits.
    private static func integer(_ text: Slice<UnsafeRawBufferPointer>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text
        guard 1...18 ~= digits.count, digits.first != UInt8(ascii: "0") || digits.count == 1 else { return nil }
        var magnitude: Int64 = 0
        for digit in digits {
            guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
            magnitude = magnitude * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        return isNegative ? -magnitude : magnitude
    }
}

extension StaticString {
    fileprivate func stands(at start: Int, in text: UnsafeRawBufferPointer) -> Bool {
        guard let base = text.baseAddress, start + utf8CodeUnitCount <= text.count else { return false }
        return memcmp(base + start, utf8Start, utf8CodeUnitCount) == 0
    }

    /// True if the text from `start` to its end is this one.
    fileprivate func ends(_ text: UnsafeRawBufferPointer, at start: Int) -> Bool {
        start + utf8CodeUnitCount == text.count && stands(at: start, in: text)
    }
}
