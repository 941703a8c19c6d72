internal import Crypto
internal import Foundation
public import Records

/// The end of a query page, as text for the client to send back.
///
/// A marker is valid only for one query in one area and is rejected for others.
public struct ContinuationMarker: Sendable {
    public let place: QueryPosition

    /// Parses a marker.
    /// - Throws: `RecordError` BAD_REQUEST if it is damaged or belongs to another query.
    public init(_ text: String, for query: ResolvedQuery, in area: QueryRequest.Area) throws {
        guard let parts = Self.parts(of: ChangeToken(text: text).bytes), parts.values.count == query.sorts.count else {
            throw RecordError(
                .badRequest, "Invalid continuationMarker: it is damaged; run the query again from its first page")
        }
        guard parts.digest == .string(Self.digest(query, area)) else {
            throw RecordError(
                .badRequest,
                "Invalid continuationMarker: it belongs to another query; send it with the same type, filters, sorts and zone"
            )
        }
        let fields = try parts.values.map { try FieldInput($0, field: "continuationMarker") }
        place = QueryPosition(
            values: fields.map(\.taggedValue), recordName: parts.last.recordName, zoneID: parts.last.zoneID)
    }

    /// The last record of the page at whose end any marker was issued; `nil` if the bytes are not a marker.
    public static func lastRecord(of bytes: [UInt8]) -> RecordID? { parts(of: bytes)?.last }

    private static func parts(of bytes: [UInt8]) -> (last: RecordID, values: [JSONValue], digest: JSONValue)? {
        // Any parse error means that the marker is damaged.
        guard case .object(let object)? = try? JSONReader.value(of: bytes), case .string(let name)? = object["n"],
            case .array(let values)? = object["v"],
            let digest = object["q"], let zone = object["z"], let zoneID = try? ZoneID(zone)
        else { return nil }
        return (RecordID(recordName: Name(name), zoneID: zoneID), values, digest)
    }

    /// The marker of a page that ends at `place`.
    public static func text(after place: QueryPosition, of query: ResolvedQuery, in area: QueryRequest.Area) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("q", digest(query, area))
            writer.member("v", values: place.values) { writer, value in
                if let value { writer.value(Field(name: "", value: value)) } else { writer.null() }
            }
            writer.member("n", place.recordName)
            writer.name("z")
            writer.value(place.zoneID)
        }
        return ChangeToken(bytes: writer.bytes).text
    }

    /// A short digest of the query and area that the marker belongs to.
    private static func digest(_ query: ResolvedQuery, _ area: QueryRequest.Area) -> String {
        var writer = JSONWriter(capacity: 256)
        writer.array { writer in
            writer.value(query.recordType)
            writer.array { writer in
                for filter in query.filters { writer.value(filter) }
            }
            writer.array { writer in
                for sort in query.sorts { writer.value(sort) }
            }
            switch area {
            case .allZones: writer.null()
            case .zone(let zoneID): writer.value(zoneID)
            }
        }
        let digest = SHA256.hash(data: writer.bytes)
        return digest.prefix(9).map { String($0, radix: 36) }.joined()
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ filter: ResolvedQuery.Filter) {
        array { writer in
            writer.value(filter.key.schemaName)
            writer.value(filter.comparator.rawValue)
            switch filter.operand {
            case .value(let value): writer.value(Field(name: "", value: value))
            case .anyOf(let values):
                for value in values { writer.value(Field(name: "", value: value)) }
            case .tokens(let tokens):
                for token in tokens { writer.value(token) }
            case .near(let location, let metres):
                writer.value(Field(name: "", value: .location(location)))
                writer.value(metres)
            }
        }
    }

    fileprivate mutating func value(_ sort: ResolvedQuery.Sort) {
        array { writer in
            writer.value(sort.key.schemaName)
            writer.value(sort.ascending)
            if let location = sort.relativeLocation { writer.value(Field(name: "", value: .location(location))) }
        }
    }
}

extension FieldInput {
    fileprivate var taggedValue: FieldValue? {
        if case .tagged(let value, _, _) = self { value } else { nil }
    }
}
