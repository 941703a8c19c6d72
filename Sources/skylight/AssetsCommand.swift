import ArgumentParser

struct AssetsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "assets", abstract: "Verify the files of assets, and delete unused ones.",
        subcommands: [AssetsVerifyCommand.self, AssetsSweepCommand.self])
}
