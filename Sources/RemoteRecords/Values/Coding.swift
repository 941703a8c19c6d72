public import CloudKitClient
internal import Foundation
public import Records

// Codable for what an app stores beside its own models: names, IDs, change tokens and records.

extension Name: Codable {
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the name as a string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(string)
    }
}

extension SyncToken: Codable {
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the token as a string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension ZoneID: Codable {
    private enum CodingKeys: CodingKey {
        case zoneName, ownerRecordName
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            zoneName: try container.decode(Name.self, forKey: .zoneName),
            ownerRecordName: try container.decodeIfPresent(Name.self, forKey: .ownerRecordName))
    }

    /// Encodes the name of the zone, and its owner if there is one.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(zoneName as Name, forKey: .zoneName)
        try container.encodeIfPresent(ownerRecordName, forKey: .ownerRecordName)
    }
}

extension RecordID: Codable {
    private enum CodingKeys: CodingKey {
        case recordName, zoneID
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            recordName: try container.decode(Name.self, forKey: .recordName),
            zoneID: try container.decode(ZoneID.self, forKey: .zoneID))
    }

    /// Encodes the name of the record and its zone.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(recordName as Name, forKey: .recordName)
        try container.encode(zoneID, forKey: .zoneID)
    }
}

extension Record: Codable {
    /// - Throws: ``UnreadableRecord`` if the data is damaged; the errors of the decoder.
    public init(from decoder: any Decoder) throws {
        try self.init(encoded: decoder.singleValueContainer().decode(Data.self))
    }

    /// Encodes the whole record with its changes as data, which is ``encoded``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(encoded))
    }
}
