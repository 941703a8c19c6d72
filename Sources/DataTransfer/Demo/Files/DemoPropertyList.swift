internal import Foundation

/// A property list with ordered dictionaries, so that its bytes are deterministic. Foundation does not guarantee this.
indirect enum DemoPropertyList: Sendable {
    case string(String)
    case integer(Int64)
    case real(Double)
    case boolean(Bool)
    case data([UInt8])
    case array([DemoPropertyList])
    case dictionary([(key: String, value: DemoPropertyList)])

    /// Apple's XML format. The strings contain nothing that needs escaping.
    var xml: [UInt8] {
        Array(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            \(element(indented: ""))
            </plist>

            """.utf8)
    }

    private func element(indented indent: String) -> String {
        let inner = indent + "\t"
        switch self {
        case .string(let string): return "\(indent)<string>\(string)</string>"
        case .integer(let integer): return "\(indent)<integer>\(integer)</integer>"
        case .real(let real): return "\(indent)<real>\(real)</real>"
        case .boolean(let boolean): return "\(indent)<\(boolean)/>"
        case .data(let bytes): return "\(indent)<data>\(Data(bytes).base64EncodedString())</data>"
        case .array(let values): return (["\(indent)<array>"] + values.map { $0.element(indented: inner) } + ["\(indent)</array>"]).joined(separator: "\n")
        case .dictionary(let members):
            let lines = members.flatMap { ["\(inner)<key>\($0.key)</key>", $0.value.element(indented: inner)] }
            return (["\(indent)<dict>"] + lines + ["\(indent)</dict>"]).joined(separator: "\n")
        }
    }

    /// Apple's binary format, as described in CFBinaryPList.c of Core Foundation.
    var binary: [UInt8] {
        var objects: [[UInt8]] = []
        _ = add(to: &objects)
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for object in objects {
            offsets.append(bytes.count)
            bytes += object
        }
        let table = bytes.count
        for offset in offsets { bytes += Self.bigEndian(offset, 2) }
        bytes += [0, 0, 0, 0, 0, 0, 2, 1]
        return bytes + Self.bigEndian(objects.count, 8) + Self.bigEndian(0, 8) + Self.bigEndian(table, 8)
    }

    /// Appends this value and its children.
    /// - Returns: the index of the value, which fits into one byte, because the demo's lists are small.
    private func add(to objects: inout [[UInt8]]) -> UInt8 {
        let number = objects.count
        objects.append([])
        switch self {
        case .string(let string):
            let isASCII = string.utf8.allSatisfy { $0 < 128 }
            let units = Array(string.utf16)
            objects[number] = Self.marker(isASCII ? 0x50 : 0x60, units.count) + (isASCII ? Array(string.utf8) : units.flatMap { Self.bigEndian(Int($0), 2) })
        case .integer(let integer): objects[number] = [0x13] + Self.bigEndian(Int(integer), 8)
        case .real(let real): objects[number] = [0x23] + Self.bigEndian(Int(bitPattern: UInt(real.bitPattern)), 8)
        case .boolean(let boolean): objects[number] = [boolean ? 0x09 : 0x08]
        case .data(let bytes): objects[number] = Self.marker(0x40, bytes.count) + bytes
        case .array(let values): objects[number] = Self.marker(0xA0, values.count) + values.map { $0.add(to: &objects) }
        case .dictionary(let members):
            let keys = members.map { Self.string($0.key).add(to: &objects) }
            objects[number] = Self.marker(0xD0, members.count) + keys + members.map { $0.value.add(to: &objects) }
        }
        return UInt8(truncatingIfNeeded: number)
    }

    private static func marker(_ type: UInt8, _ count: Int) -> [UInt8] {
        count < 15 ? [type | UInt8(count)] : [type | 15, 0x11] + bigEndian(count, 2)
    }

    private static func bigEndian(_ integer: Int, _ count: Int) -> [UInt8] {
        stride(from: (count - 1) * 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: integer >> $0) }
    }
}
