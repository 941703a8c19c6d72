internal import Records

/// A binary property list (`bplist00`), as a list of objects that refer to each other by index.
/// Damaged or malicious data may contain cycles, which are harmless in this representation.
public struct BinaryPropertyList: Sendable, Hashable {
    public enum Object: Sendable, Hashable {
        case null
        case bool(Bool)
        case integer(Int64)
        /// An integer above `Int64.max`.
        case unsigned(UInt64)
        case real(Double)
        /// Seconds since 1 January 2001.
        case date(Double)
        case data([UInt8])
        case string(String)
        /// A reference in a keyed archive to one of its objects.
        case uid(UInt64)
        case array([Int])
        case set([Int])
        case dictionary(keys: [Int], values: [Int])
    }

    /// The maximum number of objects. Longer lists are refused.
    public static let objectLimit = 65_536

    public let objects: [Object]
    /// The index of the root object.
    public let top: Int

    /// True if the bytes begin with the magic number of binary property lists.
    public static func isOne(_ bytes: [UInt8]) -> Bool { bytes.starts(with: "bplist".utf8) }

    /// - Throws: `BinaryPropertyListError` for any violation of the format. Overlapping
    ///   objects are refused too, so that the work is bounded by the length of the bytes.
    public init(_ bytes: [UInt8]) throws(BinaryPropertyListError) {
        guard bytes.starts(with: "bplist0".utf8) else {
            throw BinaryPropertyListError("it does not begin with ‘bplist00’", at: 0)
        }
        var reader = try BinaryPropertyListReader(bytes)
        objects = try reader.objects()
        top = reader.top
    }

    /// The maximum number of keys to search in a dictionary. Dictionaries in archives have far fewer.
    private static let keyLimit = 1000

    /// The index of the value for a string key; `nil` if the object is not a dictionary, or its first 1,000 keys do not
    /// include the key.
    public subscript(key: String, in object: Int) -> Int? {
        guard objects.indices.contains(object), case .dictionary(let keys, let values) = objects[object] else {
            return nil
        }
        return zip(keys.prefix(Self.keyLimit), values).first { isString($0.0, key) }?.1
    }

    public func string(_ object: Int) -> String? {
        if objects.indices.contains(object), case .string(let text) = objects[object] { text } else { nil }
    }

    private func isString(_ object: Int, _ text: String) -> Bool {
        if case .string(let other) = objects[object] { other.utf8.elementsEqual(text.utf8) } else { false }
    }
}

// MARK: - Reader

/// Reads objects at the positions in the list's offset table.
struct BinaryPropertyListReader {
    private static let headerLength = 8
    private static let trailerLength = 32

    private let bytes: [UInt8]
    private let offsetLength: Int
    private let referenceLength: Int
    private let count: Int
    /// The start of the offset table, which is also the end of the objects.
    private let end: Int
    let top: Int
    /// The number of bytes that the objects read so far occupy.
    private var taken = 0

    init(_ bytes: [UInt8]) throws(BinaryPropertyListError) {
        let trailer = bytes.count - Self.trailerLength
        guard trailer > Self.headerLength else {
            throw BinaryPropertyListError("it ends before its table of objects", at: bytes.count)
        }
        self.bytes = bytes
        offsetLength = Int(bytes[trailer + 6])
        referenceLength = Int(bytes[trailer + 7])
        func number(_ offset: Int) -> UInt64 {
            bytes[(trailer + offset)..<(trailer + offset + 8)].reduce(0) { $0 << 8 | UInt64($1) }
        }
        guard (1...8).contains(offsetLength), (1...8).contains(referenceLength) else {
            throw BinaryPropertyListError(
                "it does not end like a property list: the text is cut or damaged", at: trailer + 6)
        }
        let (count, top, end) = (number(8), number(16), number(24))
        guard count > 0, count <= UInt64(BinaryPropertyList.objectLimit) else {
            throw BinaryPropertyListError("its object count \(count) is wrong", at: trailer + 8)
        }
        guard top < count else {
            throw BinaryPropertyListError("its top object is not one of its \(count) objects", at: trailer + 16)
        }
        guard end >= UInt64(Self.headerLength), end <= UInt64(trailer),
            UInt64(trailer) - end >= count * UInt64(offsetLength)
        else {
            throw BinaryPropertyListError("its table of objects is in the wrong place", at: trailer + 24)
        }
        (self.count, self.top, self.end) = (Int(count), Int(top), Int(end))
    }

    mutating func objects() throws(BinaryPropertyListError) -> [BinaryPropertyList.Object] {
        var objects: [BinaryPropertyList.Object] = []
        objects.reserveCapacity(count)
        for index in 0..<count {
            let place = end + index * offsetLength
            let offset = try integer(at: place, length: offsetLength, before: bytes.count)
            guard offset >= UInt64(Self.headerLength), offset < UInt64(end) else {
                throw BinaryPropertyListError("object \(index) is outside the list", at: place)
            }
            objects.append(try object(at: Int(offset)))
        }
        return objects
    }

    private mutating func object(at offset: Int) throws(BinaryPropertyListError) -> BinaryPropertyList.Object {
        let marker = bytes[offset]
        try take(1, at: offset)
        let low = Int(marker & 0x0F)
        switch marker {
        case 0x00: return .null
        case 0x08: return .bool(false)
        case 0x09: return .bool(true)
        case 0x10...0x14:
            let length = 1 << low
            try take(length, at: offset)
            return try number(at: offset + 1, length: length)
        case 0x22, 0x23:
            let length = 1 << low
            try take(length, at: offset)
            let bits = try integer(at: offset + 1, length: length, before: end)
            return .real(
                length == 4 ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) : Double(bitPattern: bits))
        case 0x33:
            try take(8, at: offset)
            return .date(Double(bitPattern: try integer(at: offset + 1, length: 8, before: end)))
        case 0x80...0x8F:
            try take(low + 1, at: offset)
            guard low < 8 else { throw BinaryPropertyListError("a UID of \(low + 1) bytes", at: offset) }
            return .uid(try integer(at: offset + 1, length: low + 1, before: end))
        case 0x40...0x4F:
            let (start, length) = try extent(of: 1, low, at: offset)
            return .data(Array(bytes[start..<(start + length)]))
        case 0x50...0x5F, 0x70...0x7F:
            let (start, length) = try extent(of: 1, low, at: offset)
            return .string(String(decoding: bytes[start..<(start + length)], as: UTF8.self))
        case 0x60...0x6F:
            let (start, length) = try extent(of: 2, low, at: offset)
            let units = stride(from: start, to: start + length, by: 2).map {
                UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
            }
            return .string(String(decoding: units, as: UTF16.self))
        case 0xA0...0xAF: return .array(try references(low, at: offset))
        case 0xB0...0xCF: return .set(try references(low, at: offset))
        case 0xD0...0xDF:
            let all = try references(low, at: offset, each: 2)
            return .dictionary(keys: Array(all.prefix(all.count / 2)), values: Array(all.suffix(all.count / 2)))
        default:
            throw BinaryPropertyListError(
                "an object of the unknown kind 0x\(Hexadecimal.text(of: [marker]))", at: offset)
        }
    }

    /// The position and the length of an object's content, in bytes.
    private mutating func extent(of unit: Int, _ low: Int, at offset: Int) throws(BinaryPropertyListError) -> (
        start: Int, length: Int
    ) {
        var (start, count) = (offset + 1, UInt64(low))
        if low == 0x0F {
            // A longer count follows the marker, as an integer object.
            guard start < end, (0x10...0x13).contains(bytes[start]) else {
                throw BinaryPropertyListError("a length that is not an integer", at: offset)
            }
            let length = 1 << Int(bytes[start] & 0x0F)
            try take(1 + length, at: offset)
            count = try integer(at: start + 1, length: length, before: end)
            start += 1 + length
        }
        guard count <= UInt64(bytes.count) else {
            throw BinaryPropertyListError("an object that is longer than the list", at: offset)
        }
        let length = Int(count) * unit
        guard start + length <= end else {
            throw BinaryPropertyListError("an object that goes beyond the end of the list", at: offset)
        }
        try take(length, at: offset)
        return (start, length)
    }

    private mutating func references(_ low: Int, at offset: Int, each: Int = 1) throws(BinaryPropertyListError) -> [Int]
    {
        let (start, length) = try extent(of: referenceLength * each, low, at: offset)
        var references: [Int] = []
        references.reserveCapacity(length / referenceLength)
        for place in stride(from: start, to: start + length, by: referenceLength) {
            let reference = try integer(at: place, length: referenceLength, before: end)
            guard reference < UInt64(count) else {
                throw BinaryPropertyListError("a reference to object \(reference) of \(count)", at: place)
            }
            references.append(Int(reference))
        }
        return references
    }

    /// 8-byte integers are signed, shorter ones are unsigned, and 16-byte integers hold values too large for 8 bytes.
    private func number(at offset: Int, length: Int) throws(BinaryPropertyListError) -> BinaryPropertyList.Object {
        if length < 16 { return .integer(Int64(bitPattern: try integer(at: offset, length: length, before: end))) }
        let high = try integer(at: offset, length: 8, before: end)
        let low = try integer(at: offset + 8, length: 8, before: end)
        if high == 0 { return low <= UInt64(Int64.max) ? .integer(Int64(low)) : .unsigned(low) }
        if high == .max, Int64(bitPattern: low) < 0 { return .integer(Int64(bitPattern: low)) }
        throw BinaryPropertyListError("an integer of more than 64 bits", at: offset)
    }

    private func integer(at offset: Int, length: Int, before end: Int) throws(BinaryPropertyListError) -> UInt64 {
        guard offset + length <= end else {
            throw BinaryPropertyListError("a number that goes beyond the end of the list", at: offset)
        }
        return bytes[offset..<(offset + length)].reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func take(_ length: Int, at offset: Int) throws(BinaryPropertyListError) {
        taken += length
        if taken > bytes.count { throw BinaryPropertyListError("objects that overlap", at: offset) }
    }
}

// MARK: - Errors

/// The reason why bytes are not a binary property list, and the position of the error.
public struct BinaryPropertyListError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The problem, as a part of a sentence.
    public let problem: String
    /// The offset of the byte with the error, counted from 0.
    public let offset: Int

    init(_ problem: String, at offset: Int) {
        self.problem = problem
        self.offset = offset
    }

    public var description: String { "\(problem), at byte \(offset)" }
}
