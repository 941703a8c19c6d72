internal import Text

/// An abstract portrait: a symmetric pattern of blocks that depends on the name.
struct DemoPortrait: Sendable {
    private static let blocks = 5
    private static let block = 28
    private static let margin = 14

    let seed: UInt64

    init(of name: String) {
        seed = FNV1a(name.utf8).value
    }

    var picture: DemoPicture {
        var random = DemoRandom(seed: seed)
        let shades = (0..<3).map { _ in UInt8(random.number(in: 60...190)) }
        let color = DemoPicture.Color(shades[0], shades[1], shades[2])
        let ground = color.mixed(with: .init(255, 255, 255), 0.85)
        let halfRows = (0..<Self.blocks).map { _ in (0...Self.blocks / 2).map { _ in random.isTrue(oneIn: 2) } }
        let side = Self.blocks * Self.block + 2 * Self.margin
        return DemoPicture(width: side, height: side) { x, y in
            let (column, row) = ((x - Self.margin) / Self.block, (y - Self.margin) / Self.block)
            guard x >= Self.margin, y >= Self.margin, column < Self.blocks, row < Self.blocks else { return ground }
            return halfRows[row][min(column, Self.blocks - 1 - column)] ? color : ground
        }
    }
}
