import Records
import Testing

/// The names of Core Data's records.
@Suite struct MirroredNamingTests {
    @Test func aFieldHasTheNameOfItsProperty() {
        #expect(
            MirroredNaming.property(of: "CD_title") == "title"
                && MirroredNaming.property(of: "CD_title_ckAsset") == "title")
        for field: Name in ["title", "CD_entityName", "CD_moveReceipt", "CD_moveReceipt_ckAsset"] {
            #expect(MirroredNaming.property(of: field) == nil)
        }
        #expect(
            MirroredNaming.field(of: "title") == "CD_title"
                && MirroredNaming.assetField(of: "title") == "CD_title_ckAsset")
        #expect(MirroredNaming.rootEntity(of: "CD_Entry") == "Entry")
        for type: Name in ["CDMR", "Entry", "Users"] {
            #expect(MirroredNaming.rootEntity(of: type) == nil && !MirroredNaming.isEntityType(type))
        }
        #expect(MirroredNaming.isZone(MirroredNaming.zoneID) && !MirroredNaming.isZone(.default))
    }

    @Test func anEmptyFieldHasItsValueBeside() {
        let asset = FieldValue.asset(Asset(fileChecksum: "", size: 1))
        func field(_ fields: [Name: FieldValue]) -> Name { MirroredNaming.valueField(of: "body", in: fields) { $0 } }
        #expect(field(["CD_body": .string(""), "CD_body_ckAsset": asset]) == "CD_body_ckAsset")
        #expect(field(["CD_body": .bytes([]), "CD_body_ckAsset": asset]) == "CD_body_ckAsset")
        #expect(field(["CD_body_ckAsset": asset]) == "CD_body_ckAsset")
        #expect(field(["CD_body": .string("short"), "CD_body_ckAsset": asset]) == "CD_body")
        #expect(field(["CD_body": .string("")]) == "CD_body" && field([:]) == "CD_body")
    }

    @Test func aLinkHasTwoEnds() throws {
        let fields: [Name: String] = [
            "CD_entityNames": "Entry:Tag", "CD_recordNames": "E1:T1", "CD_relationships": "tags:entries",
        ]
        let link = try #require(MirroredLink { fields[$0] })
        #expect(link.first.recordName == "E1" && link.first.relationship == "tags" && link.second.entityName == "Tag")
        let ends = link.ends(with: "T1")
        #expect(ends.count == 1 && ends.first?.own.relationship == "entries" && ends.first?.other.recordName == "E1")
        #expect(link.ends(with: "E2").isEmpty)
        for (field, text) in [("CD_recordNames", "E1"), ("CD_recordNames", "a:b:c"), ("CD_relationships", "")]
            as [(Name, String)]
        {
            let damaged = fields.merging([field: text]) { $1 }
            #expect(MirroredLink { damaged[$0] } == nil, "\(field): \(text)")
        }
    }

    /// A relationship of an entity to itself, and a pair of an object with itself.
    @Test func bothEndsMayBeOneObject() throws {
        let fields: [Name: String] = ["CD_recordNames": "P1:P1", "CD_relationships": "likes:likedBy"]
        let link = try #require(MirroredLink { fields[$0] })
        #expect(link.ends(with: "P1").map(\.own.relationship) == ["likes", "likedBy"] && link.first.entityName == nil)
    }
}
