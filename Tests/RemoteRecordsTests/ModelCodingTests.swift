#if !canImport(CloudKit)
    import Foundation
    import RemoteRecords
    import Testing

    /// What an app stores beside its models, and models that are records.
    @Suite struct ModelCodingTests {
        @Test func whatAnAppStoresIsCodable() throws {
            struct Stored: Codable, Equatable {
                var token: CKServerChangeToken?
                var recordID: CKRecord.ID
                var zoneIDs: [CKRecordZone.ID]
                var key: CKRecord.FieldKey
                var record: CKRecord
                var systemFields: Data
            }
            let zoneID = CKRecordZone.ID(zoneName: "Lists", ownerName: "anna")
            var record = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "milk", zoneID: zoneID))
            record["amount"] = 2
            let stored = Stored(
                token: CKServerChangeToken("1"), recordID: record.recordID, zoneIDs: [zoneID, .default], key: "amount",
                record: record, systemFields: record.encodedSystemFields)
            let again = try JSONDecoder().decode(Stored.self, from: JSONEncoder().encode(stored))
            #expect(again == stored && again.record.changedKeys == ["amount"])
            let system = try CKRecord(encodedSystemFields: again.systemFields)
            #expect(system.recordID == record.recordID && system.allKeys() == [String]())
            let bytes = Array(again.systemFields)
            #expect(try CKRecord(encodedSystemFields: bytes) == system)
            let archiver = NSKeyedArchiver(requiringSecureCoding: true)
            record.encodeSystemFields(with: archiver)
            let archive = archiver.encodedData
            #expect(CKRecord(coder: try NSKeyedUnarchiver(forReadingFrom: archive)) == system)
            let empty = NSKeyedArchiver(requiringSecureCoding: true)
            #expect(CKRecord(coder: try NSKeyedUnarchiver(forReadingFrom: empty.encodedData)) == nil)
            #expect(throws: UnreadableRecord.self) { try JSONDecoder().decode(CKRecord.self, from: Data("\"\"".utf8)) }
            let name = try JSONEncoder().encode([Name("a")])
            #expect(String(decoding: name, as: UTF8.self) == #"["a"]"#)
        }

        private enum Kind: String, Codable {
            case food, other
        }

        private struct Article: Codable, Equatable {
            var id = UUID()
            var title = "Milk"
            var amount = 2
            var price: Double? = 1
            var note: String?
            var isDone = false
            var tags = ["a", "b"]
            var date = Date(timeIntervalSince1970: 1)
            var image = Data([1, 2])
            var kind = Kind.food
            var size: Int8? = 3
            var other: Kind? = .other
            var page = URL(string: "https://example.com/a%20b?c=1")
        }

        @Test func aModelIsARecord() throws {
            var (article, record) = (Article(), CKRecord(recordType: "Article"))
            try record.set(article)
            #expect(record.fields["price"] == 1.0.fieldContent && record.fields["amount"] == 2.fieldContent)
            #expect(record["id"] as? String == article.id.uuidString && record["kind"] as? String == "food")
            #expect(record["tags"] as? [String] == ["a", "b"] && record["date"] as? Date == article.date)
            #expect(record.allKeys().count == 12 && !record.allKeys().contains("note"))
            #expect(try record.model() == article)

            // What the model lacks stays.
            record["more"] = 1
            (article.note, article.price, article.size, article.other) = ("fat", nil, nil, nil)
            try record.set(article)
            #expect(record.allKeys().contains("more") && record.allKeys().count == 11)
            #expect(try record.model(Article.self) == article)

            // The server does not store an empty list.
            record["tags"] = nil
            article.tags = []
            #expect(try record.model() == article)
        }

        @Test func whatIsNoModelIsRefused() throws {
            var record = CKRecord(recordType: "Article")
            #expect(throws: EncodingError.self) { try record.set(3) }
            #expect(throws: EncodingError.self) { try record.set(["a"]) }
            #expect(throws: EncodingError.self) { try record.set(["a": Article()]) }
            #expect(throws: EncodingError.self) { try record.set(["a": UInt64.max]) }
            #expect(record.allKeys() == [String]())
            #expect(throws: DecodingError.self) { try record.model(Article.self) }
            #expect(throws: DecodingError.self) { try record.model([String].self) }
            try record.set(Article())
            record["kind"] = "none"
            #expect(throws: DecodingError.self) { try record.model(Article.self) }
            record["kind"] = "other"
            record["amount"] = "many"
            #expect(throws: DecodingError.self) { try record.model(Article.self) }
        }

        /// A server stores no empty list, so a model with one has not changed it. Otherwise the list of another device
        /// would be lost in a conflict.
        @Test func anEmptyListIsNoChange() throws {
            var article = Article()
            article.tags = []
            var ancestor = CKRecord(recordType: "Article")
            try ancestor.set(article)
            ancestor["tags"] = nil
            ancestor = try CKRecord(encoded: ancestor.encoded)
            var (mine, theirs) = (ancestor, ancestor)
            article.title = "Bread"
            try mine.set(article)
            theirs["tags"] = ["c"]
            #expect(mine.fields["tags"] == nil)
            // An app that sets all keys
            mine["tags"] = [String]()
            let conflict = CKError.Conflict(serverRecord: theirs, clientRecord: mine, ancestorRecord: ancestor)
            #expect(conflict.merged["tags"] as? [String] == ["c"] && conflict.merged["title"] as? String == "Bread")
            mine["tags"] = ["d"]
            let other = CKError.Conflict(serverRecord: theirs, clientRecord: mine, ancestorRecord: ancestor)
            #expect(other.merged["tags"] as? [String] == ["d"] && other.keysChangedByBoth == ["tags"])
        }

        /// A model that an app encodes itself.
        private struct Handmade: Codable, Equatable {
            enum Key: CodingKey {
                case text, count, place, street
            }

            var text: String?
            var count: Int?
            var street: String?

            init(text: String?, count: Int?, street: String? = nil) {
                (self.text, self.count, self.street) = (text, count, street)
            }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Key.self)
                text = try container.decode(String?.self, forKey: .text)
                count = try container.decode(Int?.self, forKey: .count)
            }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(text, forKey: .text)
                try container.encode(count, forKey: .count)
                guard let street else { return }
                var place = container.nestedContainer(keyedBy: Key.self, forKey: .place)
                try place.encode(street, forKey: .street)
            }
        }

        @Test func anOptionalPropertyIsEncodedAsAnyOther() throws {
            var record = CKRecord(recordType: "Note")
            record["text"] = "old"
            try record.set(Handmade(text: nil, count: 1))
            #expect(record["text"] as? String == nil && record["count"] as? Int == 1)
            #expect(try record.model() == Handmade(text: nil, count: 1))
            record["count"] = "many"
            #expect(throws: DecodingError.self) { try record.model(Handmade.self) }
        }

        /// Its keys would be keys of the record.
        @Test func aStructureInAModelIsRefused() {
            var record = CKRecord(recordType: "Note")
            #expect(throws: EncodingError.self) { try record.set(Handmade(text: "a", count: 1, street: "b")) }
            #expect(record.allKeys() == [String]())
        }

        @Test func aModelKeepsKeysEncrypted() throws {
            var record = CKRecord(recordType: "Note")
            record.encryptedValues["text"] = "secret"
            try record.set(Handmade(text: "again", count: nil))
            #expect(record.encryptedValues["text"] as? String == "again")
        }

        /// As the documentation says.
        @Test func datesAreCutToMilliseconds() {
            var record = CKRecord(recordType: "Item")
            record["date"] = Date(timeIntervalSince1970: 1.23456)
            #expect(record["date"] as? Date == Date(timeIntervalSince1970: 1.235))
        }
    }
#endif
