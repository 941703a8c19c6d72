/// Writes compact JSON text directly into a byte array.
///
/// The writer inserts commas. The caller writes names and values in order:
/// ```swift
/// var writer = JSONWriter()
/// writer.object { $0.member("zoneName", "Chats"); $0.member("atomic", true) }
/// ```
public struct JSONWriter: Sendable {
    /// The text so far, in UTF-8.
    public private(set) var bytes: [UInt8] = []
    /// True if a comma must precede the next name or element.
    private var needsComma = false

    /// - Parameter capacity: the number of bytes to reserve, if the length of the text can be estimated.
    public init(capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    /// The JSON text of a value.
    public static func bytes(of value: JSONValue) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(value)
        return writer.bytes
    }

    // MARK: Structure

    /// Writes an object.
    /// - Parameter members: writes each name and its value in turn. Names must differ; this is not checked.
    /// - Throws: the errors of `members`. The text then ends in the middle of the object.
    public mutating func object<Failure: Error>(_ members: (inout JSONWriter) throws(Failure) -> Void) throws(Failure) {
        open(UInt8(ascii: "{"))
        try members(&self)
        close(UInt8(ascii: "}"))
    }

    /// Writes an array.
    /// - Parameter elements: writes one value after the other.
    /// - Throws: the errors of `elements`. The text then ends in the middle of the array.
    public mutating func array<Failure: Error>(_ elements: (inout JSONWriter) throws(Failure) -> Void) throws(Failure) {
        open(UInt8(ascii: "["))
        try elements(&self)
        close(UInt8(ascii: "]"))
    }

    /// Writes the name of a member. Exactly one value must follow.
    @_disfavoredOverload public mutating func name(_ name: Name) {
        separate()
        quote(name.string)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes the name of a member from a literal that needs no escapes.
    public mutating func name(_ name: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Ends a line of newline-delimited JSON. Another value may follow.
    public mutating func endLine() {
        bytes.append(UInt8(ascii: "\n"))
        needsComma = false
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    // MARK: Values

    /// Writes `null`.
    public mutating func null() {
        separate()
        bytes.append(contentsOf: "null".utf8)
    }

    /// Writes `true` or `false`.
    public mutating func value(_ bool: Bool) {
        separate()
        bytes.append(contentsOf: (bool ? "true" : "false").utf8)
    }

    /// Writes an integer with all its digits. Readers that have only 64-bit floats round those above 2⁵³.
    public mutating func value(_ integer: Int64) {
        separate()
        append(integer)
    }

    /// Writes a float in its shortest exact form, always with a fraction or an exponent, so that it reads back as a
    /// float. Infinities and NaN become `null`, because JSON does not support them.
    public mutating func value(_ double: Double) {
        separate()
        bytes.append(contentsOf: (double.isFinite ? double.description : "null").utf8)
    }

    /// Writes a string. Quotation marks, backslashes and control characters are escaped; other characters are written
    /// unchanged.
    public mutating func value(_ string: String) {
        separate()
        quote(string)
    }

    /// Writes a name as a string value.
    public mutating func value(_ name: Name) {
        value(name.string)
    }

    /// Writes existing JSON text unchanged.
    public mutating func text(_ json: [UInt8]) {
        separate()
        bytes.append(contentsOf: json)
    }

    /// Writes a slice of existing JSON text unchanged.
    public mutating func text(_ json: ArraySlice<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
    }

    /// Writes any value with all its elements and members. Members keep their order.
    public mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let bool): self.value(bool)
        case .integer(let integer): self.value(integer)
        case .double(let double): self.value(double)
        case .string(let string): self.value(string)
        case .array(let elements): array { writer in for element in elements { writer.value(element) } }
        case .object(let members):
            object { writer in
                for member in members {
                    writer.name(member.name)
                    writer.value(member.value)
                }
            }
        }
    }

    // MARK: Members

    /// Writes a member with a string.
    @_disfavoredOverload public mutating func member(_ name: Name, _ string: String) {
        self.name(name)
        value(string)
    }

    /// Writes a member with a name as a string.
    @_disfavoredOverload public mutating func member(_ name: Name, _ other: Name) {
        self.name(name)
        value(other.string)
    }

    /// Writes a member with an integer.
    @_disfavoredOverload public mutating func member(_ name: Name, _ integer: Int64) {
        self.name(name)
        value(integer)
    }

    /// Writes a member with `true` or `false`.
    @_disfavoredOverload public mutating func member(_ name: Name, _ bool: Bool) {
        self.name(name)
        value(bool)
    }

    /// Writes a member with a string. The name is a literal that needs no escapes.
    public mutating func member(_ name: StaticString, _ string: String) {
        self.name(name)
        value(string)
    }

    /// Writes a member with a name as a string. The member's own name is a literal that needs no escapes.
    public mutating func member(_ name: StaticString, _ other: Name) {
        self.name(name)
        value(other.string)
    }

    /// Writes a member with an integer. The name is a literal that needs no escapes.
    public mutating func member(_ name: StaticString, _ integer: Int64) {
        self.name(name)
        value(integer)
    }

    /// Writes a member with `true` or `false`. The name is a literal that needs no escapes.
    public mutating func member(_ name: StaticString, _ bool: Bool) {
        self.name(name)
        value(bool)
    }

    /// Writes a member with an array. The name is a literal that needs no escapes.
    /// - Parameter value: writes one value for each element.
    @inlinable package mutating func member<Element, Failure: Error>(
        _ name: StaticString, values: some Sequence<Element>,
        _ value: (inout JSONWriter, Element) throws(Failure) -> Void
    ) throws(Failure) {
        self.name(name)
        try array { (writer) throws(Failure) in for element in values { try value(&writer, element) } }
    }

    /// Writes a member with an array of objects. The name is a literal that needs no escapes.
    /// - Parameter members: writes the members of one object for each element.
    @inlinable package mutating func member<Element, Failure: Error>(
        _ name: StaticString, objects: some Sequence<Element>,
        _ members: (inout JSONWriter, Element) throws(Failure) -> Void
    ) throws(Failure) {
        try member(name, values: objects) { (writer, element) throws(Failure) in
            try writer.object { (writer) throws(Failure) in try members(&writer, element) }
        }
    }

    // MARK: Bytes

    private mutating func append(_ integer: Int64) {
        if integer < 0 { bytes.append(UInt8(ascii: "-")) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var rest = integer.magnitude
            var start = 20
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            bytes.append(contentsOf: digits[start..<20])
        }
    }

    private mutating func quote(_ string: String) {
        var string = string
        bytes.append(UInt8(ascii: "\""))
        string.withUTF8 { text in
            var copied = 0
            while let index = Self.firstSpecial(in: text, from: copied) {
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[copied..<index]))
                escape(text[index])
                copied = index + 1
            }
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[copied...]))
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// The index of the next character that must be escaped. Examines eight bytes per step, because most text needs no
    /// escapes.
    private static func firstSpecial(in text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highBits: UInt64 = 0x8080_8080_8080_8080
        let raw = UnsafeRawBufferPointer(text)
        var index = start
        while index + 8 <= text.count {
            let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let quotes = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
            let backslashes = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
            // The high bit of a byte is set if its subtraction borrowed, which means that the byte was smaller than the
            // subtrahend.
            let found =
                (word &- ones &* 0x20) & ~word | (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes
            if found & highBits != 0 { break }
            index += 8
        }
        return text[index...].firstIndex { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        default:
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(contentsOf: Hexadecimal.text(of: CollectionOfOne(byte)).utf8)
        }
    }
}
