import ArgumentParser

struct AssetsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "assets", abstract: "Verify the files of assets, and remove those that no record refers to.",
        subcommands: [AssetsVerifyCommand.self, AssetsSweepCommand.self])
}
