internal import Crypto
internal import Foundation
internal import JSON
internal import Records

/// Where a page of a query ended, as text that a client hands back.
///
/// A marker belongs to one query in one area: with another it is refused, because its place would mean nothing there.
public struct ContinuationMarker: Sendable {
    public let place: QueryPlace

    /// Reads a marker.
    /// - Throws: `RecordError` BAD_REQUEST when it is damaged or belongs to another query.
    public init(_ text: String, for query: ResolvedQuery, in area: QueryRequest.Area) throws {
        let bytes = ChangeToken(text: text).bytes
        guard case .object(let object)? = try? JSONReader.value(of: bytes),
            case .string(let name)? = object["n"], case .array(let values)? = object["v"], values.count == query.sorts.count,
            let zone = object["z"], let zoneID = try? ZoneID(zone)
        else { throw RecordError(.badRequest, "Invalid continuationMarker: it is damaged. Run the query again from its first page") }
        guard object["q"] == .string(Self.digest(query, area)) else {
            throw RecordError(
                .badRequest, "Invalid continuationMarker: it belongs to another query. A marker goes with the same type, filters, sorts and zone")
        }
        let fields = try values.map { try FieldInput($0, field: "continuationMarker") }
        place = QueryPlace(values: fields.map(\.taggedValue), recordName: Name(name), zoneID: zoneID)
    }

    /// The marker of the page that ends at a place.
    public static func text(after place: QueryPlace, of query: ResolvedQuery, in area: QueryRequest.Area) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("q", digest(query, area))
            writer.name("v")
            writer.array { writer in
                for value in place.values {
                    if let value { writer.value(Field(name: "", value: value)) } else { writer.null() }
                }
            }
            writer.member("n", place.recordName)
            writer.name("z")
            writer.value(place.zoneID)
        }
        return ChangeToken(bytes: writer.bytes).text
    }

    /// A short digest of what the marker belongs to.
    private static func digest(_ query: ResolvedQuery, _ area: QueryRequest.Area) -> String {
        let digest = SHA256.hash(data: Array("\(query.fingerprint) \(area)".utf8))
        return digest.prefix(9).map { String($0, radix: 36) }.joined()
    }
}

extension FieldInput {
    fileprivate var taggedValue: FieldValue? {
        if case .tagged(let value, _, _) = self { value } else { nil }
    }
}
