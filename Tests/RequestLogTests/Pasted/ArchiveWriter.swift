/// Writes binary property lists in the layout of Apple's and Python's writers.
struct ArchiveWriter {
    indirect enum Item {
        case string(String)
        case data([UInt8])
        case integer(UInt8)
        case uid(UInt8)
        case array([Item])
        case dictionary([(String, Item)])
    }

    private var objects: [[UInt8]] = []

    static func bytes(_ item: Item) -> [UInt8] {
        var writer = ArchiveWriter()
        let top = writer.add(item)
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for object in writer.objects {
            offsets.append(bytes.count)
            bytes += object
        }
        let table = bytes.count
        for offset in offsets { bytes += [UInt8(offset >> 8 & 255), UInt8(offset & 255)] }
        func number(_ value: Int) -> [UInt8] { (0..<8).reversed().map { UInt8(value >> ($0 * 8) & 255) } }
        return bytes + [0, 0, 0, 0, 0, 0, 2, 1] + number(offsets.count) + number(top) + number(table)
    }

    /// The archive that an app gets for a change token from iCloud.
    static func tokenArchive(_ token: [UInt8], className: String = "CKServerChangeToken") -> [UInt8] {
        bytes(
            .dictionary([
                ("$version", .integer(1)), ("$archiver", .string("NSKeyedArchiver")),
                ("$top", .dictionary([("root", .uid(1))])),
                (
                    "$objects",
                    .array([
                        .string("$null"), .dictionary([("ChangeToken", .uid(2)), ("$class", .uid(3))]), .data(token),
                        .dictionary([
                            ("$classname", .string(className)),
                            ("$classes", .array([.string(className), .string("NSObject")])),
                        ]),
                    ])
                ),
            ]))
    }

    private mutating func add(_ item: Item) -> Int {
        let index = objects.count
        objects.append([])
        switch item {
        case .string(let text):
            objects[index] =
                text.utf8.allSatisfy { $0 < 128 }
                ? Self.marker(0x50, text.utf8.count) + Array(text.utf8)
                : Self.marker(0x60, text.utf16.count) + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
        case .data(let bytes): objects[index] = Self.marker(0x40, bytes.count) + bytes
        case .integer(let value): objects[index] = [0x10, value]
        case .uid(let value): objects[index] = [0x80, value]
        case .array(let items):
            let references = items.map { UInt8(add($0)) }
            objects[index] = Self.marker(0xA0, items.count) + references
        case .dictionary(let members):
            let keys = members.map { UInt8(add(.string($0.0))) }
            let values = members.map { UInt8(add($0.1)) }
            objects[index] = Self.marker(0xD0, members.count) + keys + values
        }
        return index
    }

    private static func marker(_ kind: UInt8, _ count: Int) -> [UInt8] {
        count < 15 ? [kind | UInt8(count)] : [kind | 15, 0x11, UInt8(count >> 8), UInt8(count & 255)]
    }
}

/// The same numbers on every machine (SplitMix64).
struct SmallRandom: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
        return z ^ z >> 31
    }

    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }
}
