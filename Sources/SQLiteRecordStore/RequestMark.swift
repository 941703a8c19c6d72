internal import Foundation
internal import GRDB
internal import JSON

/// Converts request ids for storage: a lowercase UUID becomes 16 bytes, other ids stay text.
enum RequestMark {
    static func value(of requestID: String?) -> DatabaseValue {
        guard let requestID else { return .null }
        guard let uuid = UUID(uuidString: requestID), Name(uuid.uuidString.lowercased()) == Name(requestID) else { return requestID.databaseValue }
        return withUnsafeBytes(of: uuid.uuid) { Data($0) }.databaseValue
    }

    static func requestID(of value: DatabaseValue) -> String? {
        switch value.storage {
        case .string(let text): text
        case .blob(let bytes): uuid(of: bytes)?.uuidString.lowercased()
        default: nil
        }
    }

    private static func uuid(of bytes: Data) -> UUID? {
        guard bytes.count == MemoryLayout<uuid_t>.size else { return nil }
        return UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
    }
}
