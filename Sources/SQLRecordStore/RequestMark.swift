internal import Foundation
internal import JSON

/// Converts request ids for storage: a lowercase UUID becomes 16 bytes, other ids stay text.
enum RequestMark {
    static func value(of requestID: String?) -> SQLValue {
        guard let requestID else { return .null }
        guard let uuid = UUID(uuidString: requestID), Name(uuid.uuidString.lowercased()) == Name(requestID) else { return .text(requestID) }
        return .bytes(withUnsafeBytes(of: uuid.uuid, Array.init))
    }

    static func requestID(of value: SQLValue) -> String? {
        switch value {
        case .text(let text): text
        case .bytes(let bytes): uuid(of: bytes)?.uuidString.lowercased()
        default: nil
        }
    }

    private static func uuid(of bytes: [UInt8]) -> UUID? {
        guard bytes.count == MemoryLayout<uuid_t>.size else { return nil }
        return UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
    }
}
