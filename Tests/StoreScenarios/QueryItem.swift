internal import Foundation
public import RecordStore
internal import Records

/// 600 records to query, with repeated and missing values.
public struct QueryItem: Sendable {
    public let name: String
    let number: Int64?
    let text: String?
    let latitude: Double
    let longitude: Double

    public static let all: [QueryItem] = (0..<600).map { index in
        let fruit = ["red apple", "Green pear", "blue plum", "Äpple pie"][index % 4]
        return QueryItem(
            name: "item-\(index * 7919 % 1000)-\(index)", number: index % 11 == 0 ? nil : Int64(index * 31 % 17),
            text: index % 13 == 0 ? nil : "\(fruit) \(index % 5)", latitude: Double(index * 37 % 180) - 89.5,
            longitude: Double(index * 61 % 360) - 179.5)
    }

    static var names: [Name] { all.map { Name($0.name) } }

    /// Saves all items in the public database.
    public static func fill(_ engine: any RecordEngine) async throws -> any RecordDatabase {
        let database = try await engine.full(.public)
        try await database.edit(
            .addType(RecordType(name: "Item", systemIndexes: [.recordID: [.queryable, .sortable]])))
        for start in stride(from: 0, to: all.count, by: 200) {
            for outcome in try await database.modify(
                ModifyRequest(all[start..<min(start + 200, all.count)].map(\.operation)))
            { _ = try outcome.get() }
        }
        return database
    }

    private var operation: RecordOperation {
        var fields: [Name: FieldInput] = [
            "place": FieldInput(.location(Location(latitude: latitude, longitude: longitude)))
        ]
        if let number { fields["number"] = FieldInput(.int64(number)) }
        if let text { fields["text"] = FieldInput(.string(text)) }
        return RecordOperation(.create, recordName: Name(name), recordType: "Item", fields: fields)
    }

    /// The distance of the item in metres, by the spherical law of cosines. The engines use another formula.
    func metres(from place: Location) -> Double {
        let toRadians = Double.pi / 180
        let (a, b) = (place.latitude * toRadians, latitude * toRadians)
        let c = (longitude - place.longitude) * toRadians
        return 6_371_008.8 * acos(max(-1, min(1, sin(a) * sin(b) + cos(a) * cos(b) * cos(c))))
    }
}
