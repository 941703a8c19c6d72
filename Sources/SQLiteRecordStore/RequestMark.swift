internal import Foundation
internal import GRDB
internal import JSON

/// The uuid of a request as the tables hold it: 16 bytes where it is written as servers write one, in small letters, else its text.
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
